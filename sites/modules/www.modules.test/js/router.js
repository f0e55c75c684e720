import { store } from './store.js';
{{code 7000}}
const pages = {
  '/': () => import('./pages/home.js'),
  '/settings': () => import('./pages/settings.js')
};
export const router = {
  async open(path) {
    const page = await (pages[path] || pages['/'])();
    store.set('page', page.title);
    page.show(document.getElementById('beds'));
  }
};
