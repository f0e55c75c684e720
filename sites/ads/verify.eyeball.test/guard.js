/* Written into the page: looks for robots. */
{{code 48000}}
kitchen.human = typeof navigator.languages === 'object';
