"""What templates of projects say of objects."""

from __future__ import annotations

from heatlite.planning import project_objects


def test_metadata_of_cinder_itself_are_not_the_users():
    entry = {'id': 'v', 'size': 1, 'metadata': {'readonly': 'False', 'attached_mode': 'rw', 'owner': 'me'}}
    assert project_objects.volume(entry, []).properties['metadata'] == {'owner': 'me'}
