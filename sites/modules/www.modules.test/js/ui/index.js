{{repeat i 10}}import { widget{{i}} } from './widget-{{i}}.js';
{{end}}
const widgets = [{{repeat i 10}}widget{{i}}, {{end}}];
export function draw(place) {
  widgets.forEach((widget) => place.append(widget()));
}
