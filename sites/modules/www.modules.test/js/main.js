/* The root of the graph. */
import { router } from './router.js';
import { store } from './store.js';
import { draw } from './ui/index.js';
import texts from './texts.json' with { type: 'json' };
{{code 9000}}
store.set('texts', texts);
draw(document.getElementById('beds'));
router.open(location.pathname);
