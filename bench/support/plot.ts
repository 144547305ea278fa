/** Draws the figures that have a floor, as SVG: rows per second of the load, and of one COPY of the same rows. */
import { writeFile } from 'node:fs/promises';
import { drawing, element, textAt } from '../../src/pages/chart-kit.ts';
import type { Figure } from './figures.ts';

const WIDTH = 900;
const LEFT = 290;
const ROW_PX = 34;

export async function writePlot(file: string, figures: readonly Figure[]): Promise<void> {
  const shown = figures.filter((figure) => figure.floorRowsPerSecond !== null);
  const most = Math.max(1, ...shown.flatMap((one) => [one.rowsPerSecond, one.floorRowsPerSecond ?? 0]));
  const xOf = (rows: number) => LEFT + (rows / most) * (WIDTH - LEFT - 60);
  const height = 40 + shown.length * ROW_PX;
  const bars = shown.map(({ figure, rowsPerSecond, floorRowsPerSecond }, at) => {
    const [y, end, floor] = [20 + at * ROW_PX, xOf(rowsPerSecond), xOf(floorRowsPerSecond ?? 0)];
    return [
      textAt(LEFT - 9, y, figure, { 'text-anchor': 'end' }),
      element('rect', { x: LEFT, y: y - 14, width: end - LEFT, height: 28, fill: '#4c78a8' }),
      element('line', { x1: floor, x2: floor, y1: y - 14, y2: y + 14, stroke: '#b5372f', 'stroke-width': 2 }),
      textAt(end + 6, y, (rowsPerSecond / 1000).toFixed(0)),
    ];
  });
  const about = 'thousand rows a second (line: one COPY of the same rows)';
  const svg = drawing(
    about,
    [WIDTH, height],
    { xmlns: 'http://www.w3.org/2000/svg', 'font-family': 'system-ui, sans-serif', 'font-size': '13px' },
    element('rect', { width: WIDTH, height, fill: 'white' }),
    bars,
    textAt(LEFT, height - 14, about),
  );
  await writeFile(file, `${svg.text}\n`);
}
