"""The world (cluster, application, clients) and the clock that moves it."""
