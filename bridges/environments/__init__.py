"""Foreign simulators as environments: functions, programs, Mesa, Gymnasium and UM-Bridge models."""
