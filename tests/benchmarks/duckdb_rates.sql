-- The rates and faults of `assignor-sim ingest` in DuckDB: duplicates, late readings, resets, gaps and clock skew per
-- series, and statistics per partition and hour of the day. Medians that only find faults are approximate.
WITH valid AS (
  SELECT topic, partition, broker, filename, file_row_number AS position, timestamp AS t, received,
    bytes_in_total::DOUBLE AS bytes, messages_in_total::DOUBLE AS messages
  FROM read_parquet('READINGS', filename = true, file_row_number = true)
  WHERE timestamp IS NOT NULL AND topic IS NOT NULL AND partition >= 0 AND bytes_in_total >= 0
    AND messages_in_total >= 0
),
in_files AS (
  SELECT *, t < max(t) OVER (
    PARTITION BY topic, partition, broker, filename ORDER BY position
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS is_late
  FROM valid
),
in_order AS (
  SELECT *, lag(t) OVER (PARTITION BY topic, partition, broker ORDER BY t, bytes DESC, messages DESC) AS previous_t
  FROM in_files
),
distinct_readings AS (
  SELECT *,
    coalesce(t = previous_t, false) AS is_duplicate,
    CASE WHEN t IS DISTINCT FROM previous_t THEN t END AS kept_t,
    CASE WHEN t IS DISTINCT FROM previous_t THEN bytes END AS kept_bytes,
    CASE WHEN t IS DISTINCT FROM previous_t THEN messages END AS kept_messages
  FROM in_order
),
with_last AS (
  SELECT *,
    last_value(kept_t IGNORE NULLS) OVER before AS last_t,
    last_value(kept_bytes IGNORE NULLS) OVER before AS last_bytes,
    last_value(kept_messages IGNORE NULLS) OVER before AS last_messages
  FROM distinct_readings
  WINDOW before AS (
    PARTITION BY topic, partition, broker ORDER BY t, bytes DESC, messages DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
with_interval AS (SELECT *, CASE WHEN NOT is_duplicate THEN t - last_t END AS took FROM with_last),
series AS (
  SELECT topic, partition, broker, approx_quantile(took, 0.5) AS usual, approx_quantile(t - received, 0.5) AS ahead
  FROM with_interval GROUP BY ALL
),
with_faults AS (
  SELECT readings.*, usual,
    CASE WHEN abs(ahead) > 5000 THEN ahead ELSE 0 END AS skew,
    coalesce(took > 1.5 * usual, false) AS is_gap,
    coalesce(NOT is_duplicate AND (bytes < last_bytes OR messages < last_messages), false) AS is_reset
  FROM with_interval AS readings JOIN series
    ON readings.topic = series.topic AND readings.partition = series.partition
    AND readings.broker IS NOT DISTINCT FROM series.broker
),
rates AS (
  SELECT *,
    t - skew AS until,
    t - skew - (CASE WHEN is_gap THEN usual ELSE coalesce(took, usual, 1) END) AS since,
    CASE WHEN NOT (is_duplicate OR is_gap OR is_reset) THEN (bytes - last_bytes) / (took / 1000) END AS byte_rate,
    CASE WHEN NOT (is_duplicate OR is_gap OR is_reset)
      THEN (messages - last_messages) / (took / 1000) END AS message_rate
  FROM with_faults
),
in_hours AS (
  SELECT *, unnest(generate_series(since // 3600000, (until - 1) // 3600000)) AS hour_number FROM rates
),
parts AS (
  SELECT *,
    hour_number = (until - 1) // 3600000 AS is_last,
    least(until, (hour_number + 1) * 3600000) - greatest(since, hour_number * 3600000) AS duration,
    2 * duration >= least(until - since, 3600000) AS counts
  FROM in_hours
)
SELECT topic, partition, hour_number % 24 AS hour, count(*) FILTER (is_last),
  count(byte_rate) FILTER (counts),
  sum(byte_rate * duration) / sum(duration) FILTER (byte_rate IS NOT NULL),
  quantile_cont(byte_rate, [0.5, 0.95, 0.99]) FILTER (counts),
  sum(message_rate * duration) / sum(duration) FILTER (message_rate IS NOT NULL),
  quantile_cont(message_rate, [0.5, 0.95, 0.99]) FILTER (counts),
  sum(is_duplicate::INT) FILTER (is_last), sum(is_late::INT) FILTER (is_last), sum(is_reset::INT) FILTER (is_last),
  sum(is_gap::INT) FILTER (is_last), min(usual), max(skew), min(t), max(t)
FROM parts GROUP BY ALL ORDER BY ALL
