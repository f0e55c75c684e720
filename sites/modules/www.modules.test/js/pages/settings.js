{{code 5000}}
export const title = 'Settings';
export function show() {}
