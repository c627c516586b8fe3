"""What reading training code shows: order of calls, loss and labels, data and evaluation, files, several processes."""
