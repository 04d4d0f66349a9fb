"""The OWASP API Security Top 10 of 2023, risk by risk for each route of the three APIs.

`doors` has the routes, from the tables of the service; `table` what is proved for each of them, and by which tests;
`python -m tests.security` writes the page for operators from it.
"""
