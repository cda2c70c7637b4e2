package statuspage

// source is the template of the page.
const source = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>sojourn: {{.Live}} jobs, {{.Late}} late</title>
<style>
body { font: 14px sans-serif; margin: 2em }
table { border-collapse: collapse; margin-bottom: 2em }
th, td { text-align: left; padding: .2em .8em; border-bottom: 1px solid #ccc; vertical-align: top }
.late { background: #fdd }
</style>
<h1>{{.Live}} live jobs, {{.Late}} late{{if .Closed}}, closed{{end}}</h1>
<p>At {{.Now}} s. <a href="status.json">The same as JSON</a></p>
<table id="jobs">
<caption>Jobs, the next to be served first</caption>
<tr><th>Job<th>Name<th>Pool<th>Age (s)<th>Deadline (s)<th>Done<th>Running<th>Failed<th>Held<th>Why it waits</tr>
{{range .Jobs}}<tr id="job{{.ID}}"{{if .Late}} class="late"{{end}}><td>{{.ID}}<td>{{.Name}}<td>{{.Pool}}<td>{{.Age}}<td>{{with .Deadline}}{{.}}{{end}}{{if .Late}} late{{end}} {{.Void}}<td>{{.Done}} of {{.Tasks}}<td>{{.Running}}<td>{{.Failed}}<td>{{.Held}}<td>{{if .Error}}{{.Error}}{{else}}<details><summary>{{or .Why "details"}}</summary>{{range .Explain}}{{.Key}} = {{.Value}}<br>{{end}}</details>{{end}}</tr>
{{end}}</table>
<table id="slots">
<caption>Slots</caption>
<tr><th>Slot<th>Class<th>Node<th>Runs<th>Attempt<th>State</tr>
{{range .Slots}}<tr><td>{{.ID}}<td>{{.Class}}<td>{{.Node}}<td>{{if .Job}}<a href="#job{{.Job}}">{{.Task}}</a>{{end}}<td>{{if .Job}}{{.Attempt}}{{end}}<td>{{if .Leaving}}leaving {{end}}{{.Stopped}}</tr>
{{end}}</table>
{{if .Ignoring}}<p>Tasks that ignore their contexts:{{range .Ignoring}} {{.}}{{end}}</p>
{{end}}</html>
`
