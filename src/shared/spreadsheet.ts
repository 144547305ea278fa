/** Texts in files for spreadsheets, which take some texts for formulas. */

const FORMULA = /^'*[=+\-@\t\r]/;

/** A leading quote prevents that a text is a formula. */
export const toSpreadsheet = (cell: string): string => (FORMULA.test(cell) ? `'${cell}` : cell);

export const fromSpreadsheet = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
