/** The little Markdown that an agent writes, as nodes: paragraphs, lists, bold, italic, code. Anything else is text. */

export type Inline = { kind: 'text' | 'bold' | 'italic' | 'code'; text: string };
export type Block = { kind: 'paragraph'; lines: Inline[][] } | { kind: 'list'; ordered: boolean; items: Inline[][] } | { kind: 'code'; text: string };

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(__[^_\n]+__)|(\*[^*\s][^*\n]*\*)/;

export function inline(text: string): Inline[] {
  const found: Inline[] = [];
  let rest = text;
  for (;;) {
    const match = INLINE.exec(rest);
    if (!match) break;
    if (match.index > 0) found.push({ kind: 'text', text: rest.slice(0, match.index) });
    const whole = match[0];
    if (match[1]) found.push({ kind: 'code', text: whole.slice(1, -1) });
    else if (match[2] ?? match[3]) found.push({ kind: 'bold', text: whole.slice(2, -2) });
    else found.push({ kind: 'italic', text: whole.slice(1, -1) });
    rest = rest.slice(match.index + whole.length);
  }
  if (rest) found.push({ kind: 'text', text: rest });
  return found;
}

export function blocks(source: string): Block[] {
  const found: Block[] = [];
  let paragraph: Inline[][] = [];
  let code: string[] | null = null;
  const flush = () => {
    if (paragraph.length > 0) found.push({ kind: 'paragraph', lines: paragraph });
    paragraph = [];
  };
  for (const line of source.split('\n')) {
    if (line.trimStart().startsWith('```')) {
      if (code) {
        found.push({ kind: 'code', text: code.join('\n') });
        code = null;
      } else {
        flush();
        code = [];
      }
      continue;
    }
    if (code) {
      code.push(line);
      continue;
    }
    const item = /^\s*(?:([-*•])|(\d+)[.)])\s+(.*)$/.exec(line);
    if (item) {
      flush();
      const ordered = item[2] !== undefined;
      const last = found.at(-1);
      const words = inline(item[3] ?? '');
      if (last?.kind === 'list' && last.ordered === ordered) last.items.push(words);
      else found.push({ kind: 'list', ordered, items: [words] });
    } else if (line.trim() === '') flush();
    else paragraph.push(inline(line.replace(/^#{1,6}\s+/, '')));
  }
  if (code) found.push({ kind: 'code', text: code.join('\n') });
  flush();
  return found;
}
