package statuspage

// style is the style sheet of the page. The headers of answers have its digest: it has no part that depends on the pool.
const style = `
:root { color-scheme: light dark; --line: #ccc; --late: #fdd; --link: #0b57a8; --bg: #fff; --ink: #1b1f24 }
@media (prefers-color-scheme: dark) { :root { --line: #3a414a; --late: #5a2326; --link: #6cb6f5; --bg: #14171b; --ink: #e8eaed } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5em; background: var(--bg); color: var(--ink) }
h1 { font-size: 1.4em }
a { color: var(--link) }
.scroll { overflow-x: auto; margin-bottom: 2em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: bold; padding-bottom: .4em }
th, td { text-align: left; padding: .3em .7em; border-bottom: 1px solid var(--line); vertical-align: top }
.number { text-align: right; white-space: nowrap }
.name { max-width: 24em; min-width: 8em; overflow-wrap: anywhere }
.why { min-width: 12em }
summary { cursor: pointer }
fieldset { border: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .4em 1em; align-items: center; margin: 0 0 1em }
input[type=number] { width: 6em }
.late, :target { background: var(--late) }
`

// source is the template of the page.
const source = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>sojourn: {{.Live}} jobs, {{.Late}} late</title>
<style>` + style + `</style>
<h1>{{.Live}} live jobs, {{.Late}} late{{if .Closed}}, closed{{end}}</h1>
{{with .Broken}}<p class="late">The pool is broken: {{.}}</p>
{{end}}{{with .Alone}}<p class="late">Task {{.}} runs alone, since it ran when the process before ended. Nothing else is started meanwhile.</p>
{{end}}{{with .Observer}}<p class="late">{{.}}</p>
{{end}}<p>At {{seconds .Now}} s. <a href="status.json">The same as JSON</a></p>
<div class="scroll" tabindex="0" role="region" aria-label="Jobs"><table id="jobs">
<caption>Jobs, the next to be served first</caption>
<thead><tr><th class="number">Job<th>Name<th>Pool<th class="number">Age (s)<th class="number">Deadline (s)<th class="number">Done<th class="number">Running<th class="number">Failed<th class="number">Held{{if .Forecast}}<th class="number">Starts in (s)<th class="number">Finishes in (s){{end}}{{with .WhatIf}}<th class="number">What if (s){{end}}<th>Why it waits</tr></thead>
<tbody>{{range .Jobs}}<tr id="job{{.ID}}"{{if .Late}} class="late"{{end}}><td class="number">{{.ID}}<td class="name">{{.Name}}<td>{{.Pool}}<td class="number">{{seconds .Age}}<td class="number">{{with .Deadline}}{{seconds .}}{{end}}{{if .Late}} late{{end}} {{.Void}}<td class="number">{{.Done}} of {{.Tasks}}<td class="number">{{.Running}}<td class="number">{{.Failed}}{{with .GivenUp}}, {{.}} tasks for good{{end}}{{with .Lost}}, {{.}} lost{{end}}<td class="number">{{.Held}}{{with .Suspects}}, {{.}} to run alone{{end}}{{if .Parked}}, parked: it has no handler{{end}}{{if $.Forecast}}<td class="number">{{with .Start}}{{in $.Now .}}{{end}}<td class="number">{{with .Finish}}{{in $.Now .}}{{end}}{{end}}{{if $.WhatIf}}<td class="number">{{with .Otherwise}}{{in $.Now .}}{{end}}{{end}}<td class="why">{{if .Error}}{{.Error}}{{else}}<details><summary>{{or .Why "details"}}</summary>{{range .Explain}}{{.Key}} = {{.Value}}<br>{{end}}</details>{{end}}</tr>
{{end}}</tbody></table></div>
{{if .Forecast}}<p>Starts and finishes are forecasts, if no other job comes: about nine of ten finishes are within the interval if tasks vary as they did before.</p>
<form>
<fieldset><legend>What if, from now on</legend>
<label>more slots <input name="slots" type="number" min="-10000" max="10000" value="{{with .WhatIf}}{{.Slots}}{{else}}0{{end}}"></label>
<label>tasks of one more job <input name="tasks" type="number" min="0" max="20000" value="{{with .WhatIf}}{{.Tasks}}{{else}}0{{end}}"></label>
<label>each takes <input name="each" size="6" value="{{with .WhatIf}}{{if .Each}}{{.Each}}s{{else}}60s{{end}}{{else}}60s{{end}}"></label>
{{if .Policies}}<label>policy <select name="policy"><option value="">as it is</option>{{range $name := .Policies}}<option{{with $.WhatIf}}{{if eq .Policy $name}} selected{{end}}{{end}}>{{$name}}</option>{{end}}</select></label>
{{end}}<button>Ask</button>
</fieldset>
</form>
{{with .WhatIf}}<p id="whatif">{{if .Error}}There is no forecast {{.}}: {{.Error}}{{else}}Live jobs {{.Verdict}} {{.}}.{{end}}</p>
{{end}}{{end}}{{with .NoForecast}}<p>There is no forecast: {{.}}</p>
{{end}}<div class="scroll" tabindex="0" role="region" aria-label="Slots"><table id="slots">
<caption>Slots</caption>
<thead><tr><th class="number">Slot<th class="number">Class<th class="number">Node<th>Runs<th class="number">Attempt<th>State</tr></thead>
<tbody>{{range .Slots}}<tr><td class="number">{{.ID}}<td class="number">{{.Class}}<td class="number">{{.Node}}<td>{{if .Job}}<a href="#job{{.Job}}">{{.Task}}</a>{{end}}<td class="number">{{if .Job}}{{.Attempt}}{{end}}<td>{{if .Leaving}}leaving {{end}}{{.Stopped}}</tr>
{{end}}</tbody></table></div>
{{if .Ignoring}}<p>Tasks that ignore their contexts:{{range $i, $t := .Ignoring}}{{if $i}},{{end}} {{$t}}{{end}}</p>
{{end}}</html>
`
