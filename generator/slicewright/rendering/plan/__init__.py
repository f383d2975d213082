"""Workload x cluster x catalogue -> Plan: every number and every name is decided here."""
