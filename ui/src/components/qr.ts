/**
 * QR code of a short text (ISO/IEC 18004): byte mode, error correction M, versions 1 to 6, the best of eight masks.
 * Enough for a pairing link of up to 106 bytes.
 */

/** Per version: data codewords per block, number of blocks, error correction codewords per block (level M). */
const BLOCKS: { data: number; blocks: number; ecc: number }[] = [
  { data: 16, blocks: 1, ecc: 10 },
  { data: 28, blocks: 1, ecc: 16 },
  { data: 44, blocks: 1, ecc: 26 },
  { data: 32, blocks: 2, ecc: 18 },
  { data: 43, blocks: 2, ecc: 24 },
  { data: 27, blocks: 4, ecc: 16 },
];

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i++) {
  EXP[i] = x;
  LOG[x] = i;
  x = x & 0x80 ? ((x << 1) ^ 0x11d) & 0xff : x << 1;
}
for (let i = 255; i < 512; i++) EXP[i] = EXP[i - 255] ?? 0;

const at = (bytes: ArrayLike<number>, index: number) => bytes[index] ?? 0;
const times = (a: number, b: number) => (a === 0 || b === 0 ? 0 : at(EXP, at(LOG, a) + at(LOG, b)));

function generator(degree: number): number[] {
  let poly = [1];
  for (let i = 0; i < degree; i++) {
    const next = new Array<number>(poly.length + 1).fill(0);
    poly.forEach((factor, index) => {
      next[index] = at(next, index) ^ factor;
      next[index + 1] = at(next, index + 1) ^ times(factor, at(EXP, i));
    });
    poly = next;
  }
  return poly;
}

function correction(data: number[], degree: number): number[] {
  const poly = generator(degree);
  const rest = [...data, ...new Array<number>(degree).fill(0)];
  for (let i = 0; i < data.length; i++) {
    const factor = at(rest, i);
    if (factor !== 0) poly.forEach((value, index) => (rest[i + index] = at(rest, i + index) ^ times(value, factor)));
  }
  return rest.slice(data.length);
}

function codewords(bytes: Uint8Array, version: number): number[] {
  const layout = BLOCKS[version - 1] as (typeof BLOCKS)[number];
  const capacity = layout.data * layout.blocks;
  const bits: number[] = [];
  const push = (value: number, length: number) => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >> i) & 1);
  };
  push(4, 4);
  push(bytes.length, 8);
  bytes.forEach((byte) => push(byte, 8));
  push(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data: number[] = [];
  for (let i = 0; i < bits.length; i += 8) data.push(bits.slice(i, i + 8).reduce((sum, bit) => (sum << 1) | bit, 0));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);
  const parts = Array.from({ length: layout.blocks }, (_, index) => data.slice(index * layout.data, (index + 1) * layout.data));
  const checks = parts.map((part) => correction(part, layout.ecc));
  const out: number[] = [];
  for (let i = 0; i < layout.data; i++) for (const part of parts) out.push(at(part, i));
  for (let i = 0; i < layout.ecc; i++) for (const check of checks) out.push(at(check, i));
  return out;
}

type Grid = boolean[][];

const MASKS: ((row: number, column: number) => boolean)[] = [
  (r, c) => (r + c) % 2 === 0,
  (r) => r % 2 === 0,
  (_, c) => c % 3 === 0,
  (r, c) => (r + c) % 3 === 0,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0,
  (r, c) => ((r * c) % 2) + ((r * c) % 3) === 0,
  (r, c) => (((r * c) % 2) + ((r * c) % 3)) % 2 === 0,
  (r, c) => (((r + c) % 2) + ((r * c) % 3)) % 2 === 0,
];

function cell(grid: Grid, row: number, column: number): boolean {
  return grid[row]?.[column] ?? false;
}

function draw(words: number[], version: number, mask: number): Grid {
  const size = 17 + 4 * version;
  const grid: Grid = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const fixed: Grid = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const set = (row: number, column: number, dark: boolean) => {
    const [line, lock] = [grid[row], fixed[row]];
    if (!line || !lock || column < 0 || column >= size) return;
    line[column] = dark;
    lock[column] = true;
  };
  const ring = (row: number, column: number, reach: number, dark: (distance: number) => boolean) => {
    for (let r = -reach; r <= reach; r++) {
      for (let c = -reach; c <= reach; c++) set(row + r, column + c, dark(Math.max(Math.abs(r), Math.abs(c))));
    }
  };
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0);
    set(i, 6, i % 2 === 0);
  }
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]] as const) ring(row, column, 4, (d) => d !== 2 && d !== 4);
  if (version > 1) ring(size - 7, size - 7, 2, (d) => d !== 1);

  // Format: level M is 00, five bits with their BCH(15,5) code.
  let rest = mask << 10;
  for (let i = 4; i >= 0; i--) if ((rest >> (i + 10)) & 1) rest ^= 0x537 << i;
  const format = ((mask << 10) | rest) ^ 0x5412;
  const bit = (index: number) => ((format >> index) & 1) === 1;
  for (let i = 0; i <= 5; i++) set(i, 8, bit(i));
  set(7, 8, bit(6));
  set(8, 8, bit(7));
  set(8, 7, bit(8));
  for (let i = 9; i < 15; i++) set(8, 14 - i, bit(i));
  for (let i = 0; i < 8; i++) set(8, size - 1 - i, bit(i));
  for (let i = 8; i < 15; i++) set(size - 15 + i, 8, bit(i));
  set(size - 8, 8, true);

  let index = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      const row = ((right + 1) & 2) === 0 ? size - 1 - step : step;
      for (const column of [right, right - 1]) {
        if (cell(fixed, row, column)) continue;
        const dark = ((at(words, index >> 3) >> (7 - (index & 7))) & 1) === 1 && index < words.length * 8;
        index += 1;
        const line = grid[row];
        if (line) line[column] = dark !== (MASKS[mask] as (r: number, c: number) => boolean)(row, column);
      }
    }
  }
  return grid;
}

/** The four penalties of the standard; the lowest sum reads best. */
function penalty(grid: Grid): number {
  const size = grid.length;
  let sum = 0;
  let dark = 0;
  const lines = [grid, grid.map((_, column) => grid.map((row) => row[column] ?? false))];
  for (const [which, rows] of lines.entries()) {
    for (const row of rows) {
      let run = 1;
      for (let i = 1; i <= size; i++) {
        if (i < size && row[i] === row[i - 1]) run += 1;
        else {
          if (run >= 5) sum += run - 2;
          run = 1;
        }
      }
      const text = row.map((value) => (value ? '1' : '0')).join('');
      for (const pattern of ['10111010000', '00001011101']) {
        for (let from = text.indexOf(pattern); from >= 0; from = text.indexOf(pattern, from + 1)) sum += 40;
      }
      if (which === 0) dark += row.filter(Boolean).length;
    }
  }
  for (let r = 0; r + 1 < size; r++) {
    for (let c = 0; c + 1 < size; c++) {
      const value = cell(grid, r, c);
      if (value === cell(grid, r, c + 1) && value === cell(grid, r + 1, c) && value === cell(grid, r + 1, c + 1)) sum += 3;
    }
  }
  return sum + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}

/** Rows of dark and light modules, without the quiet zone; `null` when the text is too long. */
export function qr(text: string): Grid | null {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex((layout) => layout.data * layout.blocks >= bytes.length + 2) + 1;
  if (version === 0) return null;
  const words = codewords(bytes, version);
  const grids = MASKS.map((_, mask) => draw(words, version, mask));
  return grids.reduce((best, grid) => (penalty(grid) < penalty(best) ? grid : best));
}
