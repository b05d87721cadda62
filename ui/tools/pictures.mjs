// Pictures of every view over the fake host, in the window's own engine (WebKitGTK, driven under Xvfb).
//   node tools/pictures.mjs [FOLDER] [FILTER]       needs: xvfb, webkit2gtk-driver, imagemagick, the MiniBrowser of webkit2gtk
// Prints one line per picture, and every overflow or clipped word that it measured.
import { execFileSync, spawn } from 'node:child_process';
import { createReadStream, existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

const ui = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = process.argv[2] ?? join(ui, '..', 'target', 'pictures');
const filter = process.argv[3] ?? '';
const site = join(ui, '..', 'target', 'pictures-ui');
const SIZES = [[820, 560], [1440, 900]];
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.woff2': 'font/woff2' };

/** Name, query, and what to do before the shutter (by the rail's order, or by selectors). */
const VIEWS = ['conversations', 'approvals', 'evidence', 'duplicates', 'calendar', 'activity', 'settings'];
const PAIRING = `[...document.querySelectorAll('.pair .button')].at(-1).click()`;
const PAGES = ['general', 'channels', 'debounce', 'guard', 'approvals', 'model', 'mail', 'calendar', 'tools', 'memory', 'usage', 'data'];
const rail = (view) => `document.querySelectorAll('nav button')[${VIEWS.indexOf(view)}].click()`;
const SHOTS = [
  ...VIEWS.map((view) => ({ name: view, query: '', steps: [rail(view)] })),
  ...VIEWS.map((view) => ({ name: `${view}-empty`, query: 'data=empty&practice', steps: [rail(view)] })),
  ...VIEWS.slice(0, 6).map((view) => ({ name: `${view}-error`, query: 'fail=all', steps: [rail(view)] })),
  ...['conversations', 'evidence', 'activity'].map((view) => ({ name: `${view}-full`, query: 'data=full', steps: [rail(view)] })),
  { name: 'conversations-window', query: '', steps: [`document.querySelectorAll('.pane button.row')[1].click()`] },
  { name: 'conversations-open', query: '', steps: [`[...document.querySelectorAll('.fold')].at(-1).click()`] },
  { name: 'away', query: 'away', steps: [] },
  { name: 'story', query: 'data=empty&practice', steps: [`document.querySelector('.empty .button').click()`] },
  { name: 'search', query: '', steps: [`document.querySelector('.search').click()`, `const i=document.querySelector('.field input');i.value='re';i.dispatchEvent(new Event('input',{bubbles:true}))`] },
  { name: 'approvals-together', query: '', steps: [rail('approvals'), `document.querySelector('.pane .tools > .button').click()`] },
  { name: 'approval-near', query: '', steps: [rail('approvals'), `document.querySelectorAll('.pane button.row')[1].click()`] },
  { name: 'approval-edit', query: '', steps: [rail('approvals'), `window.dispatchEvent(new KeyboardEvent('keydown',{key:'e'}))`] },
  { name: 'approval-hold', query: '', steps: [rail('approvals'), `window.dispatchEvent(new KeyboardEvent('keydown',{key:'a'}))`] },
  { name: 'evidence-unknown', query: '', steps: [rail('evidence'), `document.querySelectorAll('.rows button.row')[3].click()`] },
  { name: 'evidence-retry', query: '', steps: [rail('evidence'), `document.querySelectorAll('.rows button.row')[4].click()`] },
  { name: 'duplicate', query: '', steps: [rail('duplicates'), `document.querySelectorAll('.pane button.row')[0].click()`] },
  { name: 'export', query: '', steps: [rail('activity'), `document.querySelectorAll('.activity header .button')[1].click()`] },
  { name: 'calendar-day', query: '', steps: [rail('calendar'), `window.dispatchEvent(new KeyboardEvent('keydown',{key:'d'}))`] },
  ...PAGES.map((page, index) => ({ name: `settings-${page}`, query: '', steps: [rail('settings'), `document.querySelectorAll('.pages button')[${index}].click()`] })),
  { name: 'pairing', query: '', steps: [rail('settings'), `document.querySelectorAll('.pages button')[1].click()`, PAIRING] },
  ...[0, 1, 2, 3, 4, 5].map((step) => ({ name: `wizard-${step}`, query: 'first&practice', steps: [`document.querySelectorAll('.wizard ol button')[${step}].click()`] })),
];

await build({ root: ui, mode: 'pictures', logLevel: 'warn', build: { outDir: site, emptyOutDir: true } });
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://x').pathname).replace(/^\/$/, '/index.html');
  const file = join(site, path);
  if (!existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const display = `:${90 + (process.pid % 400)}`;
const children = [];
const start = (command, args, env = {}) => {
  const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  children.push(child);
  return child;
};
start('Xvfb', [display, '-screen', '0', '1700x1200x24']);
await new Promise((resolve) => setTimeout(resolve, 700));
const port = 20_000 + (process.pid % 20_000);
start('WebKitWebDriver', [`--port=${port}`], { DISPLAY: display, WEBKIT_DISABLE_DMABUF_RENDERER: '1', WEBKIT_DISABLE_COMPOSITING_MODE: '1', LIBGL_ALWAYS_SOFTWARE: '1', NO_AT_BRIDGE: '1' });
await new Promise((resolve) => setTimeout(resolve, 700));

async function wire(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  const { value } = await response.json();
  if (value?.error) throw new Error(`${path}: ${value.error} ${value.message}`);
  return value;
}

/** Words cut off without an ellipsis, and anything that makes the page scroll sideways. */
const MEASURE = `
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth || root.scrollHeight > root.clientHeight) found.push('page scrolls');
  for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element);
    if (element.closest('.sr') || style.visibility === 'hidden' || element.tagName === 'SELECT' || element.tagName === 'OPTION') continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const scrolls = style.overflowX === 'auto' || style.overflowX === 'scroll';
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && !scrolls && style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis' && !element.classList.contains('scroll') && element.children.length === 0) found.push('clipped: ' + element.className + ' ' + element.textContent.trim().slice(0, 50));
    if (box.right > innerWidth + 1 && !element.closest('.scroll') && style.position !== 'fixed' && element.textContent.trim()) found.push('beyond the right edge: ' + element.tagName + '.' + element.className);
  }
  return [...new Set(found)].slice(0, 6);
`;

let failures = 0;
try {
  mkdirSync(folder, { recursive: true });
  const session = await wire('POST', '/session', { capabilities: { alwaysMatch: {} } });
  const at = `/session/${session.sessionId}`;
  const run = (script) => wire('POST', `${at}/execute/sync`, { script, args: [] });
  await wire('POST', `${at}/url`, { url: `${origin}/` });
  for (const [width, height] of SIZES) {
    await wire('POST', `${at}/window/rect`, { x: 0, y: 0, width, height });
    for (let round = 0; round < 4; round++) {
      const [w, h] = await run('return [innerWidth, innerHeight]');
      if (w === width && h === height) break;
      const rect = await wire('GET', `${at}/window/rect`);
      await wire('POST', `${at}/window/rect`, { x: 0, y: 0, width: rect.width + width - w, height: rect.height + height - h });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    const frame = await wire('GET', `${at}/window/rect`);
    const left = frame.x + Math.round((frame.width - width) / 2);
    const top = frame.y + frame.height - height - Math.round((frame.width - width) / 2);
    for (const lang of ['es', 'en']) {
      for (const theme of ['light', 'dark']) {
        for (const shot of SHOTS) {
          const name = `${shot.name}-${lang}-${theme}-${width}x${height}`;
          if (!name.includes(filter)) continue;
          await wire('POST', `${at}/url`, { url: `${origin}/?lang=${lang}&theme=${theme}&${shot.query}` });
          for (let round = 0; round < 50; round++) {
            if (await run(`return document.querySelector('nav, .wizard, .alone') !== null && document.fonts.status === 'loaded'`)) break;
            await new Promise((resolve) => setTimeout(resolve, 60));
          }
          await new Promise((resolve) => setTimeout(resolve, 120));
          for (const step of shot.steps) {
            await run(`${step}`);
            await new Promise((resolve) => setTimeout(resolve, 160));
          }
          await new Promise((resolve) => setTimeout(resolve, 260));
          const notes = await run(MEASURE);
          // From the X screen: the driver's own screenshot waits for a frame that a page at rest never draws.
          execFileSync('import', ['-display', display, '-window', 'root', '-crop', `${width}x${height}+${left}+${top}`, '+repage', join(folder, `${name}.png`)]);
          if (notes.length > 0) failures += 1;
          console.log(name, notes.length > 0 ? `  !! ${notes.join(' | ')}` : '');
        }
      }
    }
  }
  await wire('DELETE', at);
} finally {
  for (const child of children.reverse()) child.kill();
  server.close();
}
if (failures > 0) {
  console.log(`${failures} pictures with something that does not fit`);
  process.exitCode = 1;
}
