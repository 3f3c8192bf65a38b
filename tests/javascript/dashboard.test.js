// The queries of the dashboard are PromQL about what `watch` serves, and the dashboard has the types that Grafana publishes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { dashboard, interpolated, parsed, served, targets } from './dashboard.js';

const metrics = served();
const MODULES = new URL('node_modules', import.meta.url).pathname;

test('every query is PromQL', () => {
  assert.ok(targets.length > 15);
  for (const { panel, target } of targets) assert.deepEqual(parsed(interpolated(target.expr)).errors, [], panel.title);
});

test('the parser finds errors', () => {
  for (const wrong of ['sum by (group (up)', 'rate(up[5x])', 'up{group=}', 'up{group=~"$group"} -', 'increase(up[1h]']) {
    assert.notDeepEqual(parsed(wrong).errors, [], wrong);
  }
});

test('every metric and label of a query is served', () => {
  for (const { panel, target } of targets) {
    const found = parsed(interpolated(target.expr));
    assert.ok(found.metrics.length, panel.title);
    const labels = new Set(found.metrics.flatMap((name) => metrics[name]?.labels ?? []));
    for (const name of found.metrics) assert.ok(metrics[name], `${panel.title}: ${name} is not served`);
    for (const label of [...found.matched, ...found.grouped]) assert.ok(labels.has(label), `${panel.title}: label ${label}`);
    const kept = found.grouped.length ? found.grouped : [...labels];
    for (const [, label] of (target.legendFormat || '').matchAll(/\{\{\s*(\w+)\s*\}\}/g)) {
      assert.ok(kept.includes(label), `${panel.title}: the legend uses ${label}`);
    }
  }
});

test('every served metric is in a panel, counters as rates and gauges as they are', () => {
  const used = new Set(targets.flatMap(({ target }) => parsed(interpolated(target.expr)).metrics));
  assert.deepEqual([...used].sort(), Object.keys(metrics).sort());
  for (const { panel, target } of targets) {
    const found = parsed(interpolated(target.expr));
    const isRate = found.functions.some((name) => ['rate', 'increase'].includes(name));
    for (const name of found.metrics) assert.equal(metrics[name].type === 'counter', isRate, panel.title);
  }
});

test('variables are defined, and their queries name what is served', () => {
  const names = dashboard.templating.list.map((variable) => variable.name);
  const used = new Set(JSON.stringify(dashboard).match(/\$\{?(?!__)\w+/g).map((text) => text.replace(/\W/g, '')));
  assert.deepEqual([...used].sort(), [...names].sort());
  for (const variable of dashboard.templating.list.filter(({ type }) => type === 'query')) {
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(variable.query.query);
    assert.ok(metrics[metric].labels.includes(label));
  }
});

// Types of string enumerations as their values, as JSON has them; options may be left out, as Grafana adds its defaults.
const TYPES = `
import type { Dashboard } from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options as Stat } from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type { Options as TimeSeries, FieldConfig as TimeSeriesFields } from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type { Options as StateTimeline, FieldConfig as StateTimelineFields } from '@grafana/schema/dist/types/raw/composable/statetimeline/panelcfg/x/types.gen';
type Json<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Json<U>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Some<T> = T extends (infer U)[] ? Some<U>[] : T extends object ? { [K in keyof T]?: Some<T[K]> } : T;
`;
const OPTIONS = { stat: 'Stat', timeseries: 'TimeSeries', 'state-timeline': 'StateTimeline' };
const FIELDS = { timeseries: 'TimeSeriesFields', 'state-timeline': 'StateTimelineFields' };

// Messages of the TypeScript compiler about a dashboard.
function typeErrors(model) {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
  const value = (name, type, content) => `export const ${name}: ${type} = ${JSON.stringify(content, null, 1)};\n`;
  const panels = model.panels.map((panel, number) => value(`options${number}`, `Some<Json<${OPTIONS[panel.type]}>>`, panel.options)
    + (panel.fieldConfig.defaults.custom ? value(`fields${number}`, `Some<Json<${FIELDS[panel.type]}>>`, panel.fieldConfig.defaults.custom) : ''));
  try {
    symlinkSync(MODULES, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'model.ts'), TYPES + value('model', 'Json<Dashboard>', model) + panels.join(''));
    const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: 'esnext', moduleResolution: 'node10', target: 'es2022', types: [], lib: ['es2022'], preserveSymlinks: true };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['model.ts'] }));
    execFileSync(join(MODULES, '.bin', 'tsc'), ['--project', folder, '--pretty', 'false'], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return error.stdout || String(error);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the dashboard has the types that Grafana publishes', () => {
  assert.equal(typeErrors(dashboard), '');
});

test('a dashboard with other types is found', () => {
  const changed = structuredClone(dashboard);
  changed.graphTooltip = 7;
  changed.panels[0].options.graphMode = 'areas';
  changed.panels.at(-1).fieldConfig.defaults.custom = { drawStyle: 'dots' };
  changed.templating.list[0].hidden = true;
  const errors = typeErrors(changed);
  for (const value of ["'7'", '"areas"', '"dots"', '"hidden"']) assert.ok(errors.includes(value), `${value} in ${errors}`);
});
