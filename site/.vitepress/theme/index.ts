import TwoslashFloatingVue from '@shikijs/vitepress-twoslash/client';
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import Diagram from './Diagram.vue';
import '@shikijs/vitepress-twoslash/style.css';
import './rowan.css';
import Versions from './Versions.vue';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h(Versions),
      'nav-screen-content-after': () => h(Versions),
    }),
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
    app.use(TwoslashFloatingVue);
  },
} satisfies Theme;
