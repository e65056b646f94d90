"""The paper's figures from our own code, beside what the paper claims: `policyloop reproduce`.

Each figure is computed once, kept in the output folder, and drawn; the report sets our values, with
95 % intervals, against the paper's claims. Modules are imported when first used, so that `policyloop --help`
stays quick.
"""
