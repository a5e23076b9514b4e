export type Tier = "P" | "C" | "E";

/** What might enter the envelope. */
export interface Candidate {
  tier: Tier;
  id: number | string;
  /** In [0, 1], within its tier. */
  score: number;
  tokens: number;
  /** An explicitly referenced target: packed first (R028-7, G-35). */
  pinned: boolean;
}

export type Weights = Readonly<Record<Tier, number>>;

const TIERS = ["P", "C", "E"] as const;

/** Token shares that sum to `total`: floor and largest remainder, ties P, C, E (G-4). A weight of 0 gets nothing. */
export function shares(total: number, weights: Weights): Record<Tier, number> {
  const sum = weights.P + weights.C + weights.E;
  const parts = { P: 0, C: 0, E: 0 };
  if (sum === 0) return parts;
  const exact = (tier: Tier): number => (total * weights[tier]) / sum;
  // 0.7 × 100 must not lose a token to its last bit.
  for (const tier of TIERS) parts[tier] = Math.floor(exact(tier) + 1e-9);
  const byRemainder = TIERS.filter((tier) => weights[tier] > 0).sort(
    (a, b) => exact(b) - parts[b] - (exact(a) - parts[a]),
  );
  for (let left = total - parts.P - parts.C - parts.E, i = 0; left > 0; left--, i++)
    parts[byRemainder[i % byRemainder.length]!]++;
  return parts;
}

/**
 * Pinned candidates first; then each tier fills its share in score order; then unused tokens go, by nominal weight, to the
 * tiers that still have candidates that fit, until none is left (G-5). What does not fit is skipped, not a stop (R003-8).
 * Pinned candidates that would have to be cut (G-35) are beyond this twin.
 */
export function pack(candidates: readonly Candidate[], budget: number, weights: Weights): Candidate[] {
  const packed = candidates.filter((candidate) => candidate.pinned);
  const ranked = candidates.filter((candidate) => !candidate.pinned).sort((a, b) => b.score - a.score);
  const spent = (tier?: Tier): number =>
    packed.filter((item) => tier === undefined || item.tier === tier).reduce((sum, item) => sum + item.tokens, 0);
  const unused = (): number => budget - spent();
  const waiting = (): Candidate[] => ranked.filter((candidate) => !packed.includes(candidate));
  const fill = (tier: Tier, room: number): void => {
    for (const candidate of waiting()) {
      if (candidate.tier !== tier || candidate.tokens > room) continue;
      room -= candidate.tokens;
      packed.push(candidate);
    }
  };
  const nominal = shares(budget, weights);
  for (const tier of TIERS) fill(tier, Math.min(unused(), nominal[tier] - spent(tier)));
  for (;;) {
    const fits = (tier: Tier): boolean =>
      waiting().some((candidate) => candidate.tier === tier && candidate.tokens <= unused());
    const hungry = TIERS.filter(fits);
    if (hungry.length === 0) return packed;
    const weight = (tier: Tier): number => (hungry.includes(tier) ? weights[tier] : 0);
    const extra = shares(unused(), { P: weight("P"), C: weight("C"), E: weight("E") });
    const before = packed.length;
    for (const tier of hungry) fill(tier, extra[tier]);
    // Each share may be too small for what would fit alone: then the heaviest tier gets it all.
    if (packed.length === before)
      fill(
        hungry.reduce((a, b) => (weights[b] >= weights[a] ? b : a)),
        unused(),
      );
    if (packed.length === before) return packed;
  }
}

/**
 * The literal sandwich (R003-9, G-1) over single items: best critical, last critical, supporting, important, the other
 * critical ones. An item's class is that of its score times its tier's weight over the heaviest (G-44).
 */
export function sandwich(packed: readonly Candidate[], weights: Weights): Candidate[] {
  const heaviest = Math.max(weights.P, weights.C, weights.E);
  const score = (item: Candidate): number => Math.fround(item.score * Math.fround(weights[item.tier] / heaviest));
  const ranked = [...packed].sort((a, b) => score(b) - score(a));
  const critical = ranked.filter((item) => score(item) >= Math.fround(0.8));
  const important = ranked.filter((item) => score(item) >= 0.5 && !critical.includes(item));
  const supporting = ranked.filter((item) => score(item) < 0.5);
  return [
    ...critical.slice(0, 1),
    ...critical.slice(1).slice(-1),
    ...supporting,
    ...important,
    ...critical.slice(1, -1),
  ];
}
