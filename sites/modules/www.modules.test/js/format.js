{{code 3000}}
export const format = (value) => new Intl.NumberFormat('en').format(value);
