"""torch._vendor.packaging: versions that compare by numbers."""
