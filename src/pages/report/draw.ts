/** Draws with Observable Plot into a document of our own, and hands back SVG as markup. */
import type * as ObservablePlot from '@observablehq/plot';
import { type Html, html, trusted, withoutControls } from '../html.ts';

/** Widths in px of the drawing. */
export const WIDE = 880;
export const HALF = 420;
export const CHARACTER_PX = 7;
/** Names that data brings are cut to it; whole they stand in the tables. */
export const NAME_LENGTH = 20;

export interface Texts {
  readonly title: string;
  /** Says in words what it shows. */
  readonly label: string;
  readonly note?: string | undefined;
}

export interface Series {
  readonly name: string;
  readonly color: string;
}

/** What is used of the document; this program is not compiled against a browser's types. */
interface DrawnElement {
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelectorAll(selector: string): Iterable<{ remove(): void; removeAttribute(name: string): void }>;
}

export type Plot = typeof ObservablePlot;

export interface Pen {
  readonly plot: Plot;
  /** One chart: a figure with its title, drawn for a wide and for a narrow place. */
  figure(texts: Texts, width: number, options: (width: number) => ObservablePlot.PlotOptions): Html;
}

const NARROW = 330;

/** Loaded by whoever draws: nothing else of this program needs it. */
export async function createPen(): Promise<Pen> {
  const [plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as { document: object };

  /** Data gets into what Plot makes as texts alone, which linkedom escapes; of attributes it escapes the quotes only. */
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
