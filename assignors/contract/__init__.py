"""What every task assignor must guarantee, checked on single states."""
