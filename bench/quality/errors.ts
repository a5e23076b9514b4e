/** The error report of `--errors`: confusion tables and worst cases of the default profile, for developers. */

import type { Profile } from "trihorizon";

const SHOWN = 40;

interface Case {
  severity: number;
  text: string;
}

export class Errors {
  private readonly tables = new Map<string, Map<string, Map<string, number>>>();
  private readonly cases = new Map<string, Case[]>();

  constructor(private readonly enabled: boolean) {}

  /** Counts a decision in a confusion table. */
  count(profile: Profile, table: string, gold: string, predicted: string): void {
    if (!this.enabled || profile !== "default") return;
    const rows = getOr(this.tables, table, () => new Map<string, Map<string, number>>());
    const row = getOr(rows, gold, () => new Map<string, number>());
    row.set(predicted, (row.get(predicted) ?? 0) + 1);
  }

  /** Notes a wrong case; the most severe (most confidently wrong) are shown first. */
  note(profile: Profile, section: string, severity: number, text: () => string): void {
    if (!this.enabled || profile !== "default") return;
    getOr(this.cases, section, () => []).push({ severity, text: text() });
  }

  render(): string {
    const parts: string[] = [];
    for (const [title, rows] of this.tables) {
      const labels = [...new Set([...rows.keys(), ...[...rows.values()].flatMap((row) => [...row.keys()])])].sort();
      const line = (head: string, cells: string[]): string =>
        head.padEnd(18) + cells.map((cell) => cell.padStart(16)).join("");
      parts.push(`\n== ${title} (rows gold, columns predicted)\n`, `${line("", labels)}\n`);
      for (const gold of labels)
        parts.push(
          `${line(
            gold,
            labels.map((label) => String(rows.get(gold)?.get(label) ?? 0)),
          )}\n`,
        );
    }
    for (const [section, cases] of this.cases) {
      parts.push(`\n== ${section}: ${cases.length}${cases.length > SHOWN ? `, worst ${SHOWN}` : ""}\n`);
      const worst = [...cases].sort((a, b) => b.severity - a.severity).slice(0, SHOWN);
      for (const { text } of worst) parts.push(`- ${text}\n`);
    }
    return parts.join("");
  }
}

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
