/** The event comes from a place where letters are text. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (!target?.closest) return false;
  return target.closest('input, textarea, select, [contenteditable="true"]') !== null;
}
