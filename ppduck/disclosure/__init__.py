"""What an intruder who knows some columns learns of others from randomized tables."""
