"""The COCO benchmark: problems, algorithms, runs and what is measured on them."""
