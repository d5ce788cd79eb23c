"""A package, so that no other package called tests is taken for it: the wheel of ioh brings one."""
