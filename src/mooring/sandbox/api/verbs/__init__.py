"""What can be done to a resource: one module for each way of reading and writing."""
