"""What the encoder cache is made of: tiers, what an entry is worth, and what lies behind them for other processes."""
