import { readFileSync } from 'node:fs';
import { BrokerMetrics } from '@sotto/confidential';
import { ControlMetrics } from '@sotto/control';
import { failoverTable } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
const { groups } = parse(read('deploy/observability/alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('deploy/observability/dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const guide = read('docs/operate/monitoring-and-runbooks.md');

const none = () => 0;
const registries = [
  new BrokerMetrics({
    ...{ openHolds: none, pendingSettlements: none, unsentSettlements: none, mostPendingSettlements: 1 },
    ...{ penalties: none, teeSessions: none, catalogVersion: none },
  }).withProcess().registry,
  new ControlMetrics().withProcess().registry,
];
const known = new Set(registries.flatMap((registry) => registry.getMetricsAsArray().map(({ name }) => name)));
const metricsIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:sotto|process|nodejs)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|count|sum)$/, ''),
  );

describe('alerts and the dashboard', () => {
  it('use existing metrics', () => {
    const asked = [
      ...rules.map(({ alert, expr }) => ({ by: alert, expr })),
      ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ by: title, expr }))),
    ];
    expect(asked.length).toBeGreaterThan(40);
    for (const { by, expr } of asked) {
      const names = metricsIn(expr);
      expect(names.length + Number(expr.startsWith('up{')), by).toBeGreaterThan(0);
      for (const name of names) expect([...known], by).toContain(name);
    }
  });

  it('show or watch each of our metrics', () => {
    const shown = new Set(metricsIn(`${JSON.stringify(dashboard)} ${JSON.stringify(rules)}`));
    const own = [...known].filter((name) => name.startsWith('sotto_'));
    expect(own.length).toBeGreaterThan(25);
    const quiet = ['sotto_audit_accounts_total'];
    expect(own.filter((name) => !shown.has(name)).sort()).toEqual(quiet);
  });

  it('tell of a provider that fails a few calls of a small company, without those at fault themselves', () => {
    const { expr } = rules.find(({ alert }) => alert === 'SottoProviderFails') ?? { expr: '' };
    const failed = 'sum by (provider) (increase(sotto_attempts_total{outcome!~"served|';
    expect(expr.startsWith(failed)).toBe(true);
    expect(expr).toMatch(/\[15m\]\)\) >= 5 and /);
    expect(expr).not.toMatch(/\brate\(/);
    const atFault = Object.entries(failoverTable).flatMap(([outcome, { usageError }]) =>
      usageError === 'request' ? [outcome] : [],
    );
    expect(/outcome!~"served\|([^"]+)"/.exec(expr)?.[1]?.split('|').sort()).toEqual(atFault.sort());
  });

  it('are each explained in the guide, under their name', () => {
    const headings = [...guide.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.runbook).toBe(`docs/operate/monitoring-and-runbooks.md#${alert.toLowerCase()}`);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(['warning', 'critical']).toContain(labels.severity);
    }
  });
});

describe('the guide', () => {
  it('names each of our metrics, and no other', () => {
    const named = new Set(metricsIn(guide).filter((name) => name.startsWith('sotto_')));
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
    expect([...known].filter((name) => name.startsWith('sotto_') && !named.has(name))).toEqual([]);
  });
});
