/** Texts in columns of a terminal. */

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;
const invisible = /^[\p{Mark}\p{Cf}\p{Cc}]+$/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A text on one line of exactly `width` columns: cut at a grapheme boundary, or filled up with blanks. */
export function fit(text: string, width: number): string {
  // Control characters of a conversation must not reach the terminal.
  const flat = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  let line = "";
  let columns = 0;
  let atMark = "";
  let columnsAtMark = 0;
  for (const { segment } of graphemes.segment(flat.slice(0, width * 8))) {
    const next = columnsOf(segment);
    if (columns + next > width) return `${atMark}…${" ".repeat(Math.max(0, width - columnsAtMark - 1))}`;
    line += segment;
    columns += next;
    if (columns <= width - 1) [atMark, columnsAtMark] = [line, columns];
  }
  return line + " ".repeat(width - columns);
}

function columnsOf(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}
