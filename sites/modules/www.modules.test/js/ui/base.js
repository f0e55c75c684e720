import { effect } from 'reactive/effect.js';
{{code 4000}}
export const element = (name, shape) => () => {
  const node = document.createElement('div');
  node.className = name;
  effect(() => { node.textContent = shape.value.title; });
  return node;
};
