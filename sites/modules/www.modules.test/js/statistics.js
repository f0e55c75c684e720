/* Async: runs when it is there. */
{{code 12000}}
export const begun = performance.timeOrigin > 0;
