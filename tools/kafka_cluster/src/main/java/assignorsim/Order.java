package assignorsim;

/** One order; travels through Kafka as text with commas between the fields. */
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

    /** The same order in the currency of the books; an unknown rate counts as one. */
    Order priced(final String rate) {
        final double factor = rate == null ? 1 : Double.parseDouble(rate);
        return new Order(id, customer, product, (int) Math.round(cents * factor), "EUR", note);
    }
}
