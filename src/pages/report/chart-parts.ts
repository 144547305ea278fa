/** What the charts have in common: widths in px of the drawing, and the texts around it. */

export const WIDE = 880;
export const HALF = 420;
export const CHARACTER_PX = 7;
/** Names that data brings are cut to it; whole they stand in the tables. */
export const NAME_LENGTH = 20;

export interface Texts {
  readonly title: string;
  readonly label: string;
  readonly note?: string;
}

export interface Series {
  readonly name: string;
  readonly color: string;
}
