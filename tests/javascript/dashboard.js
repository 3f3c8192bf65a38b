// The Grafana dashboard of `watch`, what `watch` serves, and the names that a PromQL expression uses.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';

const CHECKOUT = new URL('../../', import.meta.url);
const WINDOWS = { $__rate_interval: '1m', $__interval: '1m', $__range: '1h' };

export const dashboard = JSON.parse(readFileSync(new URL('scenarios/watch/dashboard.json', CHECKOUT), 'utf8'));

// Each query with its panel.
export const targets = dashboard.panels.flatMap((panel) => (panel.targets || []).map((target) => ({ panel, target })));

// Grafana replaces variables before Prometheus gets a query: a group matches a pattern, a window is a duration.
export function interpolated(expression) {
  const withWindows = Object.entries(WINDOWS).reduce((text, [variable, value]) => text.replaceAll(variable, value), expression);
  return withWindows.replace(/\$(\w+)|\$\{(\w+)[^}]*\}/g, (_, plain, braced) => ({ group: 'shop|other' })[plain || braced] ?? `unknown variable ${plain || braced}`);
}

// Metrics with the labels that select them, labels that results are grouped by, functions, and whether the text is PromQL.
export function parsed(expression) {
  const found = { metrics: [], matched: [], grouped: [], functions: [], errors: [] };
  parser.parse(expression).iterate({
    enter({ name, from, to, node }) {
      const text = expression.slice(from, to);
      if (node.type.isError) found.errors.push(`${from}: '${expression.slice(from, from + 20)}'`);
      else if (name === 'VectorSelector') found.metrics.push(expression.slice(node.getChild('Identifier').from, node.getChild('Identifier').to));
      else if (name === 'UnquotedLabelMatcher') found.matched.push(expression.slice(node.firstChild.from, node.firstChild.to));
      else if (name === 'GroupingLabels') for (const label of node.getChildren('LabelName')) found.grouped.push(expression.slice(label.from, label.to));
      else if (name === 'FunctionIdentifier') found.functions.push(text);
    },
  });
  return found;
}

// Metrics that `watch` serves, by name: type, and the labels of its series.
export function served() {
  const python = new URL('.venv/bin/python', CHECKOUT).pathname;
  const text = execFileSync(python, ['-m', 'tests.scenarios.watch.exposition'], { cwd: CHECKOUT, encoding: 'utf8' });
  const types = Object.fromEntries([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  const metrics = {};
  for (const [, name, labels] of text.matchAll(/^(\w+)\{([^}]*)\} \S+$/gm)) {
    const type = types[name] ?? types[name.replace(/_total$/, '')];
    metrics[name] = { type, labels: [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).sort() };
  }
  return metrics;
}
