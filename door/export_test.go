package door

// Reading returns how many bodies are being read before their requests wait.
func Reading(d *Door) int64 { return d.reading.Load() }
