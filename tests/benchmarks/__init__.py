"""Speed, always as a ratio to a peer that runs alternately in the same process."""
