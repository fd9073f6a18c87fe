"""Bodies of other servers, one file for each: its typed struct, what tells it, how it becomes a request of ours."""
