"""What happens to a batch of inputs."""
