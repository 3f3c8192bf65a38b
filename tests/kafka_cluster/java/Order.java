package assignorsim;

/** One order; serialized as comma-separated text. */
record Order(String id, String customer, String product, int cents, String currency, String note) {

    static Order parse(final String text) {
        final String[] fields = text.split(",", 6);
        return new Order(fields[0], fields[1], fields[2], Integer.parseInt(fields[3]), fields[4], fields[5]);
    }

    String toText() {
        return String.join(",", id, customer, product, String.valueOf(cents), currency, note);
    }

    boolean isValid() {
        return cents > 0;
    }

    /** Returns the order in the base currency; an unknown exchange rate counts as 1. */
    Order priced(final String rate) {
        final double factor = rate == null ? 1 : Double.parseDouble(rate);
        return new Order(id, customer, product, (int) Math.round(cents * factor), "EUR", note);
    }
}
