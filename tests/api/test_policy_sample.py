"""The sample policy file is what the generator prints today.

To renew it: oslopolicy-sample-generator --namespace heatlite --output-file etc/heatlite/policy.yaml.sample
"""

import pathlib

from oslo_policy import generator

from heatlite.common import policy

SAMPLE = pathlib.Path(__file__).parents[2] / 'etc/heatlite/policy.yaml.sample'


def test_the_sample_is_current():
    printed = ''.join(generator._sort_and_format_by_section({'heatlite': policy.list_rules()}))
    assert printed == SAMPLE.read_text()
