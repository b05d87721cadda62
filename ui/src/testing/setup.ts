/** What jsdom lacks and the views need. */
import '@testing-library/jest-dom/vitest';

/** Every element is 900 by 640: enough for a virtual list to draw its rows. */
class Observer implements ResizeObserver {
  constructor(private readonly tell: ResizeObserverCallback) {}
  observe(target: Element): void {
    const contentRect = { width: 900, height: target.classList.contains('scroll') ? 640 : 44 } as DOMRectReadOnly;
    queueMicrotask(() => this.tell([{ target, contentRect } as ResizeObserverEntry], this));
  }
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver = Observer;
Object.defineProperty(HTMLElement.prototype, 'offsetParent', {
  get(this: HTMLElement) {
    return this.parentNode;
  },
});
Element.prototype.scrollTo = () => {};
Element.prototype.scrollBy = () => {};
globalThis.matchMedia = ((query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
})) as unknown as typeof matchMedia;
