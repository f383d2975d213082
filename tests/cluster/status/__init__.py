"""What runs now: runs of a tree beside what a cluster shows of them."""
