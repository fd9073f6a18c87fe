"""Videos as items: whole files or segments of them, whose frames come from processes that can be killed."""
