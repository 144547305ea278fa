/** Renders charts with Observable Plot in a linkedom document and returns SVG markup. */
import type * as ObservablePlot from '@observablehq/plot';
import { type Html, html, trusted, withoutControls } from '../html.ts';

/** Widths of the drawing, in px. */
export const WIDE = 880;
export const HALF = 420;
export const CHARACTER_PX = 7;
/** Names longer than this are truncated in charts; tables show them in full. */
export const NAME_LENGTH = 20;

export interface Texts {
  readonly title: string;
  /** Description of the chart for screen readers. */
  readonly label: string;
  readonly note?: string | undefined;
}

export interface Series {
  readonly name: string;
  readonly color: string;
}

/** The used parts of the DOM, because the program is compiled without a browser's types. */
interface DrawnElement {
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelectorAll(selector: string): Iterable<{ remove(): void; removeAttribute(name: string): void }>;
}

export type Plot = typeof ObservablePlot;

export interface ChartRenderer {
  readonly plot: Plot;
  /** One chart: a figure with its title, drawn in a wide and a narrow version. */
  figure(texts: Texts, width: number, options: (width: number) => ObservablePlot.PlotOptions): Html;
}

const NARROW = 330;

/** Imported on first use, because no other part of the program needs Plot. */
export async function createChartRenderer(): Promise<ChartRenderer> {
  const [plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as { document: object };

  /** Data enters Plot's output as text only, which linkedom escapes; in attributes it escapes quotes only. */
  function draw(options: ObservablePlot.PlotOptions, name: string, label: string): Html {
    const svg = plot.plot({ ...options, document: document as never }) as unknown as DrawnElement;
    for (const style of svg.querySelectorAll('style')) style.remove();
    for (const part of svg.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label');
    for (const attribute of ['font-family', 'font-size', 'width', 'height']) svg.removeAttribute(attribute);
    svg.setAttribute('class', name);
    const [start, rest] = ['<svg', withoutControls(svg.outerHTML).slice('<svg'.length)].map(trusted);
    return html`${start ?? ''} role="img" aria-label="${label}"${rest ?? ''}`;
  }

  return {
    plot,
    figure: ({ title, label, note }, width, options) =>
      html`<figure>
        <figcaption>${title}</figcaption>
        ${draw(options(width), 'wide', label)} ${draw(options(NARROW), 'narrow', label)}
        ${note !== undefined && html`<p class="note">${note}</p>`}
      </figure>`,
  };
}
