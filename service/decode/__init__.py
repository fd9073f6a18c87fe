"""Where pictures are decoded: a budget of bytes, a deadline, and threads of the front or processes that can be killed.

`worker.py` is the process; the front imports all the others. Neither imports torch.
"""
