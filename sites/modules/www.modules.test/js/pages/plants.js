{{code 2500}}
export const plants = [{{repeat i 12}}'{{words 1}}', {{end}}];
