"""AWS names for alarms, which this service evaluates itself."""
